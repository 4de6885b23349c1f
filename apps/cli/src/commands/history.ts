import { evolve, isImpossible } from '@runledger/contracts/evolve';
import type { Fact, Run } from '@runledger/contracts/run';
import type { EventLog } from '@runledger/event-log/event-log';
import { readRun } from '@runledger/event-log/read-run';
import { describeChange, describeFact } from '../describe-fact.ts';
import { Explained } from '../explained.ts';
import { findRun } from '../find-run.ts';
import { plain } from '../plain-text.ts';
import type { Screen } from '../screen.ts';

/** Prints the events of a run as the log holds them, one line each. */
export const history = async (log: EventLog, run: string, screen: Screen, json: boolean): Promise<void> => {
  const read = await readRun(log, await findRun(log, run));
  switch (read.kind) {
    case 'none':
      throw new Explained(`The log has messages under the name of run ${run}, but none of them counts.`);
    case 'damaged':
      throw new Explained(
        `${read.why}. Restore the broker's store from a copy; what is left is not shown as a history.`,
      );
    case 'newer_version':
      throw new Explained(
        `A newer release wrote ${read.type} in version ${read.version} at sequence ${read.sequence}. Use that release of this command.`,
      );
    case 'found':
  }
  let before: Run | undefined;
  for (const fact of read.facts) {
    if (json) screen.printJson({ sequence: fact.sequence, stored_at: fact.time, ...fact.event });
    else screen.print(lineOf(before, fact));
    before = after(before, fact);
  }
  for (const { message, why } of read.refused)
    screen.hint(`Not counted: ${plain(message.subject)} at sequence ${message.sequence}: ${plain(why)}`);
};

const lineOf = (before: Run | undefined, fact: Fact): string => {
  const { event, time } = fact;
  const now = after(before, fact);
  const change = now === undefined ? '' : describeChange(before, now);
  const who = `${plain(event.writer.service)} (${plain(event.writer.instance)})`;
  return [time, event.type.padEnd(18), who.padEnd(34), change.padEnd(22), describeFact(event)]
    .join('  ')
    .trimEnd();
};

const after = (before: Run | undefined, fact: Fact): Run | undefined => {
  const run = evolve(before, fact);
  return isImpossible(run) ? before : run;
};
