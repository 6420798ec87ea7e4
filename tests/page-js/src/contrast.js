// How well each text of a page can be told from the background: for `page.evaluate`, so in one piece.

/** The contrast of all elements with a text of their own, by the formula of WCAG 2. */
export function contrasts() {
  const luminance = (/** @type {string} */ color) => {
    const channels = (color.match(/[\d.]+/g) ?? []).slice(0, 3).map((part) => {
      const value = Number(part) / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    const [red = 0, green = 0, blue = 0] = channels;
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  // No element has a background of its own.
  const ground = luminance(getComputedStyle(document.body).backgroundColor);
  const hasText = (/** @type {Element} */ element) =>
    [...element.childNodes].some((node) => node.nodeName === "#text" && node.nodeValue?.trim());
  const texts = [...document.body.querySelectorAll("*")].filter(hasText).map((element) => {
    const color = luminance(getComputedStyle(element).color);
    const [low = 0, high = 0] = [ground, color].sort((one, other) => one - other);
    return { element: element.outerHTML.slice(0, 80), contrast: (high + 0.05) / (low + 0.05) };
  });
  return { isDark: ground < 0.5, texts };
}
