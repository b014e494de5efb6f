/** Elements in one expression. Text stays text. */

type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;
type Child = Node | string;

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  return filled(document.createElement(tag), attributes, children);
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[K] {
  return filled(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

/** `false` and undefined omit an attribute, `true` sets it without value. */
function filled<E extends HTMLElement | SVGElement>(
  made: E,
  attributes: Attributes,
  children: readonly Child[],
): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    // A content security policy forbids the attribute, not the property.
    if (name === 'style') made.style.cssText = String(value);
    else made.setAttribute(name, value === true ? '' : String(value));
  }
  made.append(...children);
  return made;
}

/** A CSS variable's value, such as `--ink`. */
export function themeColour(at: Element, variable: string): string {
  return getComputedStyle(at).getPropertyValue(variable).trim();
}

/**
 * Also called when the page is printed.
 * @returns removes the callback
 */
export function onThemeChange(changed: () => void): () => void {
  const queries = ['(prefers-color-scheme: dark)', 'print'].map((query) => matchMedia(query));
  for (const query of queries) query.addEventListener('change', changed);
  return () => {
    for (const query of queries) query.removeEventListener('change', changed);
  };
}
