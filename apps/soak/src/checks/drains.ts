import type { Check } from '../evidence/evidence.ts';

const guarantee = 'A drained name gets no run, over restarts of everything, until it is resumed.';

/** For an assignment that was being stored when the drain was answered. */
const SLACK_MS = 1_000;

export const drains: Check = ({ records, runs }) =>
  [...runs].flatMap(([run, { facts }]) =>
    facts.flatMap(({ event, time }) => {
      if (event.type !== 'RunAssigned') return [];
      const at = Date.parse(time);
      const name = event.executor_id?.split('.')[0];
      const drain = records.drains.find(
        (one) => one.name === name && at > one.drainedAt + SLACK_MS && at < one.resumedAt,
      );
      if (drain === undefined) return [];
      const since = new Date(drain.drainedAt).toISOString();
      const message = `It was assigned to ${event.executor_id} at ${time}, and ${name} was drained since ${since}.`;
      return [{ guarantee, run, message }];
    }),
  );
