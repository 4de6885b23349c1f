import { jsonBytes } from '../json.ts';
import { MAX_ERROR_MESSAGE } from '../limits.ts';

/**
 * A message that fits into an event: at most MAX_ERROR_MESSAGE bytes as JSON. Of a longer one the given part remains. No character is
 * cut in two.
 */
export const errorMessage = (text: string, keep: 'beginning' | 'end' = 'beginning'): string => {
  const part = keep === 'end' ? text.slice(-MAX_ERROR_MESSAGE) : text.slice(0, MAX_ERROR_MESSAGE);
  const characters = Array.from(part.toWellFormed());
  let room = MAX_ERROR_MESSAGE;
  const over = (keep === 'end' ? characters.toReversed() : characters).findIndex((character) => {
    room -= jsonBytes(character) - QUOTES;
    return room < 0;
  });
  if (over === -1) return characters.join('');
  return (keep === 'end' ? characters.slice(-over) : characters.slice(0, over)).join('');
};

const QUOTES = 2;
