import { jsonBytes } from '../json.ts';
import { MAX_ERROR_MESSAGE } from '../limits.ts';

/** The beginning of a message, with at most so many bytes as JSON; as many as an event may have. No character is cut in two. */
export const errorMessage = (text: string, maxBytes = MAX_ERROR_MESSAGE): string => {
  const characters = Array.from(text.slice(0, maxBytes).toWellFormed());
  let room = maxBytes;
  const over = characters.findIndex((character) => {
    room -= jsonBytes(character) - QUOTES;
    return room < 0;
  });
  return (over === -1 ? characters : characters.slice(0, over)).join('');
};

const QUOTES = 2;
