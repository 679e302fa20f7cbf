// What is dragged, in a picture of its own above the other one: only this is drawn again while it moves.

/** Take nodes of a picture into a layer above it; `back` puts them where they were. */
export function carry(diagram, nodes) {
  const layer = diagram.picture.cloneNode(false), focused = document.activeElement;
  const marks = nodes.map(node => document.createComment(''));
  const follow = () => {
    layer.setAttribute('viewBox', diagram.picture.getAttribute('viewBox'));
    layer.setAttribute('class', `${diagram.picture.getAttribute('class')} carried`);
  };
  follow();
  diagram.picture.after(layer);
  nodes.forEach((node, k) => node.replaceWith(marks[k]));
  layer.append(...nodes);
  diagram.addEventListener('looked', follow);
  return {
    layer,
    back() {
      diagram.removeEventListener('looked', follow);
      marks.forEach((mark, k) => mark.replaceWith(nodes[k]));
      layer.remove();
      if (nodes.includes(focused) && focused.isConnected) diagram.refocus(focused);
    },
  };
}
