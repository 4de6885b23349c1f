import { isImpossible } from '@runledger/contracts/fold/chain';
import { evolveRun } from '@runledger/contracts/fold/evolve-run';
import type { RunFact, RunState } from '@runledger/contracts/fold/run';
import { evolveWebhook } from '@runledger/contracts/fold/webhook';
import type { Webhook, WebhookFact } from '@runledger/contracts/fold/webhook';
import { readRun } from '@runledger/event-log/read/read-run';
import { describeChange, describeFact, describeWebhookChange } from './describe-fact.ts';
import { CommandError } from '../output/command-error.ts';
import { findRun } from './find-run.ts';
import { plain } from '../output/plain-text.ts';
import type { Operator } from '../command/command-context.ts';

/** Prints the events of a run in the log, one line each. */
export const history = async ({ log, screen }: Operator, run: string, json: boolean): Promise<void> => {
  const read = await readRun(log, await findRun(log, run));
  switch (read.kind) {
    case 'none':
      throw new CommandError(`The log has messages of run ${run}, but all of them are invalid.`);
    case 'damaged':
      throw new CommandError(
        `${read.why}. Restore the broker's store from a copy. A damaged history is not shown.`,
      );
    case 'newer_version':
      throw new CommandError(
        `A newer release wrote ${read.type} in version ${read.version} at sequence ${read.sequence}. Use that release of this command.`,
      );
    case 'found':
    case 'deleted':
  }
  const { facts, webhook, webhookFacts, refused } = read;
  const shown = [...withChanges(facts), ...withWebhookChanges(webhookFacts)].toSorted(bySequence);
  for (const fact of shown) {
    if (json) screen.printJson({ sequence: fact.sequence, stored_at: fact.time, ...fact.event });
    else screen.print(lineOf(fact));
  }
  if (webhook === undefined) screen.hint('The webhook facts are not shown, because they are inconsistent.');
  for (const { message, why } of refused)
    screen.hint(`Invalid: ${plain(message.subject)} at sequence ${message.sequence}: ${plain(why)}`);
};

/** An event and the change of the status. */
type ShownFact = (RunFact | WebhookFact) & { readonly change: string };

const bySequence = (one: ShownFact, other: ShownFact): number => one.sequence - other.sequence;

const lineOf = ({ event, time, change }: ShownFact): string => {
  const who = `${plain(event.writer.service)} (${plain(event.writer.instance)})`;
  return [time, event.type.padEnd(18), who.padEnd(34), change.padEnd(22), describeFact(event)]
    .join('  ')
    .trimEnd();
};

const withChanges = (facts: readonly RunFact[]): ShownFact[] => {
  let before: RunState | undefined;
  return facts.map((fact) => {
    const after = evolveRun(before, fact);
    if (isImpossible(after)) return { ...fact, change: '' };
    const change = describeChange(before, after);
    before = after;
    return { ...fact, change };
  });
};

const withWebhookChanges = (facts: readonly WebhookFact[]): ShownFact[] => {
  let before: Webhook | undefined;
  return facts.map((fact) => {
    const after = evolveWebhook(before, fact);
    if ('impossible' in after) return { ...fact, change: '' };
    const change = describeWebhookChange(before, after);
    before = after;
    return { ...fact, change };
  });
};
