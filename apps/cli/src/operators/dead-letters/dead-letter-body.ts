import { parseJson } from '@runledger/contracts/json';
import type { ListedDeadLetter } from '@runledger/event-log/streams/dead-letters';
import { plain, shorten } from '../../output/plain-text.ts';

const MAX_LINES = 100;
const MAX_LINE_LENGTH = 400;

/** The content of a dead letter in lines that are safe for a terminal. It may hold anything. */
export const bodyLines = ({ data, stream, sequence }: ListedDeadLetter): string[] => {
  if (data === null)
    return [
      `Its content is too large for a dead letter. The message is in ${stream} at sequence ${sequence} until it expires.`,
    ];
  const text = Buffer.from(data, 'base64').toString();
  const json = parseJson(text);
  const lines = (json === undefined ? text : JSON.stringify(json, null, 2)).split('\n');
  const shown = lines.slice(0, MAX_LINES).map(plainLine);
  return lines.length > MAX_LINES
    ? [...shown, `… and ${lines.length - MAX_LINES} more lines: see all with --json`]
    : shown;
};

const plainLine = (line: string): string => {
  const indent = /^ */.exec(line)?.[0] ?? '';
  return shorten(`${indent}${plain(line)}`, MAX_LINE_LENGTH);
};
