import { isResponse, type FamilyAnswer } from './dns-answer.ts';

const TOTAL_AFTER_MS = 30_000;

export interface DnsOutage {
  asked(): void;
  heard(name: string, answers: readonly FamilyAnswer[]): void;
  isTotal(): boolean;
}

/**
 * Tells DNS servers that are gone from names that are silent; both look like a time-out. A guess: the servers count as
 * gone once at least two names were asked in vain and nothing at all was answered, by any server, for 30 s since the
 * first question after the last answer. Wrong for an installation all of whose callbacks go to silent names, whose
 * deliveries then wait as for a failure of our own until any other name is answered.
 */
export const dnsOutage = (clock: () => number): DnsOutage => {
  let since: number | undefined;
  let inVain: string | undefined;
  let severalInVain = false;
  return {
    asked: () => {
      since ??= clock();
    },
    heard: (name, answers) => {
      if (answers.some(isResponse)) {
        since = undefined;
        inVain = undefined;
        severalInVain = false;
      } else {
        inVain ??= name;
        severalInVain ||= inVain !== name;
      }
    },
    isTotal: () => since !== undefined && severalInVain && clock() - since >= TOTAL_AFTER_MS,
  };
};
