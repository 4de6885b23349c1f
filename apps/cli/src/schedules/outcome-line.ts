import type { Schedule } from '@runledger/contracts/http/catalogue/schedules';

type Outcome = Schedule['outcomes'][number];

/** What came of a time, such as `2026-05-01T09:00:00.000Z queued 01920000-…`. */
export const outcomeLine = ({ time, last_time, times, outcome, run_id, message }: Outcome): string => {
  const when = times === 1 ? time : `${time} to ${last_time}`;
  const count = times === 1 ? '' : ` ${times} times`;
  const run = run_id === null ? '' : ` ${run_id}`;
  return `${when} ${outcome}${count}${run}${message === null ? '' : `: ${message}`}`;
};
