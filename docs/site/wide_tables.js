// A table wider than the page scrolls, and so does a transcript, whose columns would not survive new lines; with the
// focus the arrow keys scroll it too.
addEventListener("load", () => {
  for (const code of document.querySelectorAll(".md-typeset pre > code"))
    if (code.textContent.startsWith("$ ")) code.classList.add("transcript");
  for (const wide of document.querySelectorAll(".md-typeset__scrollwrap, .transcript")) wide.tabIndex = 0;
});
