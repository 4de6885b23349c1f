import type { RedriveResponse, RedriveRequest } from '@runledger/contracts/requests/redrive';
import { refused, refusedAsMissing, taken } from '@runledger/request-reply/redrive';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readStored } from '@runledger/event-log/messages/stream-identity';
import { factSubject } from './core/fold-run.ts';
import { readView } from './read-view.ts';
import { ViewsUnavailable, type RunViews } from './run-views.ts';

/**
 * Takes a dead letter again, with what this release knows: the view of its run is made again from the log.
 * @throws {LogUnavailable}
 */
export const redriveView = async (
  { log, views }: { readonly log: EventLog; readonly views: RunViews },
  question: RedriveRequest,
): Promise<RedriveResponse> => {
  const { stream, sequence } = question;
  if (stream !== 'RUNS') return refused(`The gateway reads nothing of ${stream} into its views.`);
  const stored = await readStored(log, sequence);
  if (!stored) return refusedAsMissing(question);
  const key = factSubject(stored.subject);
  if (!key) return refused(`It is still refused: ${stored.subject} is not the subject of a fact of a run.`);
  const read = await readView(log, key, sequence);
  switch (read.kind) {
    case 'none':
      return refused(`Run ${key.run_id} is not in the log: no message under its subjects is accepted.`);
    case 'damaged':
      return refused(`Run ${key.run_id} is still damaged: ${read.why}.`);
    case 'webhook_damaged':
      return refused(`The webhook facts of run ${key.run_id} still contradict each other.`);
    case 'newer_version':
      return refused(
        `Run ${key.run_id} has ${read.type} in version ${read.version}, which only a later release can read. Start that one.`,
      );
    case 'whole': {
      const wrong = read.refused.find(({ message }) => message.sequence === sequence);
      if (wrong) return refused(`It is still refused: ${wrong.why}.`);
    }
  }
  try {
    await views.save([read.view]);
  } catch (error) {
    if (!(error instanceof ViewsUnavailable)) throw error;
    return refused(`The views cannot be written: ${error.message}. Ask again when they can.`);
  }
  return taken(
    `The view of run ${key.run_id} was made again from the log: its status is ${read.view.run.status}.`,
  );
};
