import { printable } from '../../attempt/log-buffer.decide.ts';

/** More than an error shows of it, so that what is hidden there is whole. */
export const STDERR_TAIL_BYTES = 4 * 1024;

/** Keeps the end of the standard error of a program. */
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
      // The first character may be cut: its remaining bytes begin with the bits 10.
      const whole = begun ? tail.subarray(tail.findIndex((byte) => (byte & 0xc0) !== 0x80)) : tail;
      return withinBytes(printable(whole.toString('utf8')), limit).trim();
    },
  };
};

/** Each invalid byte became three bytes, so the text may have grown. */
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
