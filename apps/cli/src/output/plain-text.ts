/** Removes control characters from text that a program or a client wrote. */
export const plain = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim();

export const shorten = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, Math.max(0, length - 1))}…` : text;
