import type { Check, Evidence } from '../evidence/evidence.ts';
import { factsUntilEnd, type LoggedRun } from '../evidence/logged-run.ts';
import type { RunStream } from '../clients/client-records.ts';

const guarantee = 'A subscription to a run delivers each of its facts once and in order.';

export const streams: Check = ({ records, runs, limits }) =>
  records.streams.flatMap((stream) => {
    const logged = runs.get(stream.run);
    const message = logged && defectIn(stream, logged, limits);
    return message === undefined ? [] : [{ guarantee, run: stream.run, message }];
  });

const defectIn = (
  { facts: streamed, complete }: RunStream,
  logged: LoggedRun,
  limits: Evidence['limits'],
): string | undefined => {
  const { facts } = logged;
  for (const [at, { id, fact }] of streamed.entries()) {
    const expected = facts[at];
    // The log had forgotten the facts: the last state stands for them.
    if (fact.type === null && limits.some(({ kind }) => kind === 'forgetful')) return undefined;
    if (id !== String(fact.sequence)) return `The event with the id ${id} is fact ${fact.sequence}.`;
    if (fact.sequence !== expected?.sequence || fact.type !== expected.event.type)
      return (
        `Event ${at + 1} is ${fact.type} (${fact.sequence}). There the log has ` +
        `${expected ? `${expected.event.type} (${expected.sequence})` : 'no more facts'}.`
      );
  }
  // A deletion of the run or its outputs may follow the end of the stream.
  if (!complete || streamed.length >= factsUntilEnd(logged).length) return undefined;
  return `The stream ended after ${streamed.length} of ${facts.length} facts.`;
};
