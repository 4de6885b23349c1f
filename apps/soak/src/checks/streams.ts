import type { Check } from '../evidence/evidence.ts';
import type { LoggedRun } from '../evidence/logged-run.ts';
import type { RunStream } from '../clients/client-records.ts';

const guarantee = 'Whoever watches a run is told each of its facts once and in order.';

export const streams: Check = ({ records, runs }) =>
  records.streams.flatMap((stream) => {
    const logged = runs.get(stream.run);
    const says = logged && wrongIn(stream, logged);
    return says === undefined ? [] : [{ guarantee, run: stream.run, says }];
  });

const wrongIn = ({ facts: told, complete }: RunStream, { facts }: LoggedRun): string | undefined => {
  for (const [at, { id, fact }] of told.entries()) {
    const expected = facts[at];
    if (id !== String(fact.sequence)) return `The event with the id ${id} tells of fact ${fact.sequence}.`;
    if (fact.sequence !== expected?.sequence || fact.type !== expected.event.type)
      return (
        `Told as number ${at + 1}: ${fact.type} (${fact.sequence}); the log has ` +
        `${expected ? `${expected.event.type} (${expected.sequence})` : 'no more facts'} there.`
      );
  }
  if (!complete || told.length === facts.length) return undefined;
  return `The stream ended after ${told.length} of ${facts.length} facts.`;
};
