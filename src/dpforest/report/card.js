"use strict";
// Search in the rules: every line that has the text is marked, and whatever hides it is opened.
const field = document.getElementById("search"), told = document.getElementById("found");
const lines = Array.from(document.querySelectorAll(".rule"));
if (field) field.addEventListener("input", () => {
  const wanted = field.value.trim().toLowerCase();
  let found = 0;
  for (const line of lines) {
    const hit = wanted !== "" && line.textContent.toLowerCase().includes(wanted);
    line.classList.toggle("hit", hit);
    if (!hit) continue;
    found += 1;
    for (let at = line.parentElement.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
  }
  told.textContent = wanted === "" ? "" : found === 1 ? "1 rule" : found + " rules";
});
