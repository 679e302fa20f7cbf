// Colours of the page: those of the screen, or light, dark or high contrast as somebody chooses; remembered.

const KEY = 'ssptool studio theme';
/** What a theme makes of the conditions of style sheets. */
const WANTED = { light: { dark: false, contrast: false }, dark: { dark: true, contrast: false }, contrast: { dark: false, contrast: true } };

/** The condition of a rule that asks for dark colours or more contrast, under a theme; null for other rules. */
export function conditionOf(text, theme) {
  const about = /prefers-color-scheme: dark/.test(text) ? 'dark' : /prefers-contrast: more/.test(text) ? 'contrast' : null;
  if (!about) return null;
  return WANTED[theme] ? (WANTED[theme][about] ? 'screen' : 'not all') : text;
}

export function enableThemes(select) {
  const rules = [...document.styleSheets].flatMap(sheet => [...sheet.cssRules]).filter(rule => rule instanceof CSSMediaRule)
    .map(rule => ({ rule, text: rule.media.mediaText })).filter(({ text }) => conditionOf(text, '') !== null);
  const use = theme => {
    for (const { rule, text } of rules) rule.media.mediaText = conditionOf(text, theme);
    document.documentElement.style.colorScheme = { light: 'light', dark: 'dark', contrast: 'light' }[theme] || '';
    select.value = theme;
  };
  select.addEventListener('change', () => {
    if (select.value) localStorage.setItem(KEY, select.value); else localStorage.removeItem(KEY);
    use(select.value);
  });
  const kept = localStorage.getItem(KEY);
  if (kept in WANTED) use(kept);
}
