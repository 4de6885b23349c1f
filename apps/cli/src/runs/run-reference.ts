import { isUuid } from '@runledger/contracts/ids';
import { ANSWER_WITHIN_MS, type ApiCall } from '../api/api-call.ts';
import { CommandError, plain } from '../command/command-error.ts';
import { RunListResponse } from './run-response.ts';

const ANY_ID = '00000000-0000-4000-8000-000000000000';
/** Fewer characters say too little. */
const LEAST = 6;
/** So many find a run among all: the service knows ids by their first 8 characters. */
const SEARCHED = 8;
/** Of a page. With fewer characters the newest runs are looked at. */
const NEWEST = 100;
/** Of several runs, as many are shown. */
const CANDIDATES = 10;

/**
 * The id of a run from what a person gives: its id, or the beginning of one, when one run has it. Anything else is left to the service, which
 * says what is wrong. @throws CommandError when none has it, or several
 */
export const runIdOf = async (call: ApiCall, given: string): Promise<string> => {
  const beginning = given.toLowerCase();
  if (!isBeginning(beginning)) return given;
  const isSearched = beginning.length >= SEARCHED;
  const { runs } = await call(RunListResponse, {
    method: 'GET',
    path: '/runs',
    query: isSearched ? { search: beginning, limit: CANDIDATES + 1 } : { limit: NEWEST },
    answerWithinMs: ANSWER_WITHIN_MS,
  });
  const [found, ...others] = runs.filter(({ id }) => id.startsWith(beginning));
  if (found === undefined)
    throw new CommandError(
      isSearched
        ? `No run has an id that begins with ${beginning}. List them with: runledger runs list`
        : `None of the newest ${NEWEST} runs has an id that begins with ${beginning}. With ${SEARCHED} characters or more, all runs are looked at.`,
    );
  if (others.length === 0) return found.id;
  const lines = [found, ...others]
    .slice(0, CANDIDATES)
    .map(({ id, created_at, status }) => `  ${id}  created ${created_at}  ${plain(status)}`);
  const more = others.length >= CANDIDATES ? ['  and more: runledger runs list'] : [];
  throw new CommandError(
    [`More than one run has an id that begins with ${beginning}. Give more of it:`, ...lines, ...more].join(
      '\n',
    ),
  );
};

const isBeginning = (text: string): boolean =>
  text.length >= LEAST && text.length < ANY_ID.length && isUuid(text + ANY_ID.slice(text.length));
