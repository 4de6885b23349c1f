import { isResponse, type FamilyAnswer } from './dns-answer.ts';

const TOTAL_AFTER_MS = 30_000;

export interface DnsOutage {
  queried(): void;
  answered(name: string, answers: readonly FamilyAnswer[]): void;
  isTotal(): boolean;
}

/**
 * Distinguishes unavailable DNS servers from names whose servers do not respond. Both look like a timeout, so this is a guess:
 * the DNS servers count as unavailable when at least two names got no response, and no server responded at all for 30 s since
 * the first query after the last response. The guess is wrong when every callback of an installation goes to such names. Their
 * deliveries then wait, as after a failure on our side, until another name is resolved.
 */
export const dnsOutage = (clock: () => number): DnsOutage => {
  let since: number | undefined;
  let unanswered: string | undefined;
  let severalUnanswered = false;
  return {
    queried: () => {
      since ??= clock();
    },
    answered: (name, answers) => {
      if (answers.some(isResponse)) {
        since = undefined;
        unanswered = undefined;
        severalUnanswered = false;
      } else {
        unanswered ??= name;
        severalUnanswered ||= unanswered !== name;
      }
    },
    isTotal: () => since !== undefined && severalUnanswered && clock() - since >= TOTAL_AFTER_MS,
  };
};
