import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** Longer than any line of our services' logs. */
const LONGEST_LINE = 64 * 1024;

/** Gives each line of a stream, without its end. What is longer is cut: a line without end fills no memory. */
export const readLines = (stream: Readable, onLine: (line: string) => void): void => {
  const decoder = new StringDecoder('utf8');
  let begun = '';
  const take = (text: string): void => {
    const [first = '', ...rest] = text.split('\n');
    begun = (begun + first).slice(0, LONGEST_LINE);
    for (const next of rest) {
      if (begun !== '') onLine(begun);
      begun = next.slice(0, LONGEST_LINE);
    }
  };
  stream.on('data', (bytes: Buffer) => take(decoder.write(bytes)));
  stream.once('end', () => take(`${decoder.end()}\n`));
  stream.on('error', () => undefined);
};
