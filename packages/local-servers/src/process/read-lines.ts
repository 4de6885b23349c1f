import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** Longer than any line in the logs of our services. */
const MAX_LINE_CHARACTERS = 64 * 1024;

/** Calls `onLine` with each line of a stream, without its line end. A longer line is cut, so that it cannot fill the memory. */
export const readLines = (stream: Readable, onLine: (line: string) => void): void => {
  const decoder = new StringDecoder('utf8');
  let begun = '';
  const take = (text: string): void => {
    const [first = '', ...rest] = text.split('\n');
    begun = (begun + first).slice(0, MAX_LINE_CHARACTERS);
    for (const next of rest) {
      if (begun !== '') onLine(begun);
      begun = next.slice(0, MAX_LINE_CHARACTERS);
    }
  };
  stream.on('data', (bytes: Buffer) => take(decoder.write(bytes)));
  stream.once('end', () => take(`${decoder.end()}\n`));
  stream.on('error', () => undefined);
};
