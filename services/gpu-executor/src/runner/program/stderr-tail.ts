/** Keeps the end of what a program writes to standard error, whatever it writes. */
export interface StderrTail {
  push(chunk: Buffer): void;
  text(): string;
}

export const stderrTail = (limit: number): StderrTail => {
  let tail = Buffer.alloc(0);
  let begun = false;
  return {
    push: (chunk) => {
      begun ||= tail.length + chunk.length > limit;
      tail = Buffer.concat([tail, chunk.subarray(-limit)]).subarray(-limit);
    },
    text: () => {
      // The cut may have gone through a character: its remaining bytes all begin with the bits 10.
      const whole = begun ? tail.subarray(tail.findIndex((byte) => (byte & 0xc0) !== 0x80)) : tail;
      return withinBytes(printable(whole.toString('utf8')), limit).trim();
    },
  };
};

/** Terminal colours and other control characters have no place in an error that people read in JSON or HTML. */
const printable = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- these are what is removed
  text.replaceAll(/\u001B\[[0-9;?]*[A-Za-z]/g, '').replaceAll(/[^\P{Cc}\n\t]/gu, '');

/** Invalid bytes have become three bytes each, so the text may have grown. */
const withinBytes = (text: string, limit: number): string => {
  let bytes = Buffer.byteLength(text);
  let from = 0;
  for (const character of text) {
    if (bytes <= limit) break;
    bytes -= Buffer.byteLength(character);
    from += character.length;
  }
  return text.slice(from);
};
