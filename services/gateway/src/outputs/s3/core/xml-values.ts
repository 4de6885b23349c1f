const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * What stands in each element of this name, in order. Responses of S3 have elements of one name on one level only, without attributes
 * but those of the root, and no comments or CDATA (https://docs.aws.amazon.com/AmazonS3/latest/API/).
 */
export const elementsOf = (xml: string, name: string): string[] => {
  const found: string[] = [];
  const [start, end] = [`<${name}>`, `</${name}>`];
  for (let from = xml.indexOf(start); from !== -1; from = xml.indexOf(start, from)) {
    const to = xml.indexOf(end, from);
    if (to === -1) break;
    found.push(xml.slice(from + start.length, to));
    from = to + end.length;
  }
  return found;
};

/** The text of the first element of this name; undefined without one. */
export const textOf = (xml: string, name: string): string | undefined => {
  const [first] = elementsOf(xml, name);
  return first?.replaceAll(
    /&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|(\w{2,4}));/g,
    (entity, decimal, hex, word) => {
      const code = decimal ? Number(decimal) : Number.parseInt(String(hex), 16);
      return ENTITIES[String(word)] ?? (code <= 0x10_ff_ff ? String.fromCodePoint(code) : entity);
    },
  );
};

/** For the text of an element. */
export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
