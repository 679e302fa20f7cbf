// A table wider than the page scrolls; with the focus the arrow keys scroll it too.
addEventListener("load", () => {
  for (const wide of document.querySelectorAll(".md-typeset__scrollwrap")) wide.tabIndex = 0;
});
