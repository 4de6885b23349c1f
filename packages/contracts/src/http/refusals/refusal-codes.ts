import { ACCOUNT_CODES } from './account-codes.ts';
import { ATTEMPT_CODES } from './attempt-codes.ts';
import { CAPACITY_CODES } from './capacity-codes.ts';
import type { CodeRow } from './code-row.ts';
import { RECORD_CODES } from './record-codes.ts';
import { REQUEST_CODES } from './request-codes.ts';
import { RUN_CODES } from './run-codes.ts';

/** What operations of the API answer with. */
const OF_OPERATIONS = {
  ...REQUEST_CODES,
  ...RUN_CODES,
  ...RECORD_CODES,
  ...ACCOUNT_CODES,
  ...CAPACITY_CODES,
} as const;

/**
 * Every code of a refusal, with its status. A code is stable: its name, its status and its meaning never change. Clients may meet new
 * ones.
 */
export const REFUSAL_CODES = { ...OF_OPERATIONS, ...ATTEMPT_CODES } as const;

export type RefusalCode = keyof typeof REFUSAL_CODES;

/** For the page of all codes. */
export const CODE_GROUPS: readonly {
  readonly title: string;
  readonly codes: Readonly<Record<string, CodeRow>>;
}[] = [
  { title: 'Requests', codes: REQUEST_CODES },
  { title: 'Runs', codes: RUN_CODES },
  { title: 'Records', codes: RECORD_CODES },
  { title: 'People', codes: ACCOUNT_CODES },
  { title: 'Limits, stores and outages', codes: CAPACITY_CODES },
  { title: 'Attempts', codes: ATTEMPT_CODES },
];

export const statusOf = (code: RefusalCode): number => REFUSAL_CODES[code].status;

/** The codes that operations of the API answer with this status. */
export const codesOfOperations = (status: number): string[] =>
  Object.entries<CodeRow>(OF_OPERATIONS).flatMap(([code, row]) => (row.status === status ? [code] : []));
