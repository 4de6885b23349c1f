import type { RedriveResponse, RedriveRequest } from '@runledger/contracts/requests/redrive';
import { refused, refusedAsMissing, taken } from '@runledger/request-reply/redrive';
import type { RunLog } from '@runledger/event-log/messages/run-messages';
import { readStored } from '@runledger/event-log/messages/stream-identity';
import { factSubject } from './core/fold-run.ts';
import { readView } from './read-view.ts';
import { ViewsUnavailable, type RunViews } from './run-views.ts';

/**
 * Redrives a dead letter with this release: derives the view of its run again from the log.
 * @throws {LogUnavailable}
 */
export const redriveView = async (
  { log, views }: { readonly log: RunLog; readonly views: RunViews },
  request: RedriveRequest,
): Promise<RedriveResponse> => {
  const { stream, sequence } = request;
  if (stream !== 'RUNS') return refused(`The gateway does not project ${stream}.`);
  const stored = await readStored(log, sequence);
  if (!stored) return refusedAsMissing(request);
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
        `Run ${key.run_id} has ${read.type} in version ${read.version}, which only a later release can read. Start that release.`,
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
    return refused(`The views cannot be written: ${error.message}. Redrive again when they are available.`);
  }
  return taken(
    `The view of run ${key.run_id} was made again from the log: its status is ${read.view.run.status}.`,
  );
};
