import { MAX_LIVE_STATUS } from '@runledger/contracts/limits';

/** One line without control characters, at most as long as the API allows. No character is cut in two. */
export const liveStatus = (text: string): string => {
  let kept = '';
  for (const character of text.replaceAll(/[\p{Cc}\p{Cs}\u2028\u2029]+/gu, ' ').trim()) {
    if (kept.length + character.length > MAX_LIVE_STATUS) break;
    kept += character;
  }
  return kept.trim();
};
