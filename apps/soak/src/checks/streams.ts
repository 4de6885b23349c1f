import type { Check } from '../evidence/evidence.ts';
import { forgottenBefore, factsUntilEnd, type LoggedRun } from '../evidence/logged-run.ts';
import type { RunStream } from '../clients/client-records.ts';

const guarantee = 'A subscription to a run delivers each of its facts once and in order.';

export const streams: Check = ({ records, runs, limits, size }) =>
  records.streams.flatMap((stream) => {
    const logged = runs.get(stream.run);
    const message = logged && defectIn(stream, logged, forgottenBefore(limits, size));
    return message === undefined ? [] : [{ guarantee, run: stream.run, message }];
  });

const defectIn = (
  { facts: streamed, complete }: RunStream,
  logged: LoggedRun,
  forgotten: number,
): string | undefined => {
  const { facts } = logged;
  let at = 0;
  for (const [event, { id, fact }] of streamed.entries()) {
    const expected = facts[at];
    if (fact.type === null && Date.parse(facts[0]?.time ?? '') < forgotten) {
      // The log had forgotten the beginning of the run: its last state stands for the facts up to it.
      at = facts.findLastIndex(({ sequence }) => sequence <= fact.sequence) + 1;
      continue;
    }
    if (id !== String(fact.sequence)) return `The event with the id ${id} is fact ${fact.sequence}.`;
    if (fact.sequence !== expected?.sequence || fact.type !== expected.event.type)
      return (
        `Event ${event + 1} is ${fact.type} (${fact.sequence}). There the log has ` +
        `${expected ? `${expected.event.type} (${expected.sequence})` : 'no more facts'}.`
      );
    at += 1;
  }
  // A deletion of the run or its outputs may follow the end of the stream.
  if (!complete || at >= factsUntilEnd(logged).length) return undefined;
  return `The stream ended after ${streamed.length} of ${facts.length} facts.`;
};
