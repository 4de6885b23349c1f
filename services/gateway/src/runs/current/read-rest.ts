import type { EventLog } from '@runledger/event-log/connect/event-log';
import { messagesOfRun } from '@runledger/event-log/read/messages-of-run';
import { factSubject, foldedOf, foldMessage, type Folded } from '../../projection/core/fold-run.ts';
import { existing, upTo, type RunView } from '../../projection/core/run-view.ts';

/**
 * The run when its beginning has expired: its view, and what the log still has of it up to `atLeast`. Undefined when facts that
 * the view lacks have expired too, or cannot be read. @throws {LogUnavailable}
 */
export const readRest = async (
  log: EventLog,
  view: RunView,
  atLeast: number,
): Promise<RunView | undefined> => {
  let folded: Folded = foldedOf(view);
  for (const message of await messagesOfRun(log, view.run)) {
    const about = factSubject(message.subject);
    const next = about && foldMessage(folded, about.chain, message);
    if (next?.kind === 'gap' || next?.kind === 'newer_version') return undefined;
    if (next && next.kind !== 'known') ({ folded } = next);
  }
  const { history, webhook } = folded;
  if (!history.state) return undefined;
  const read = existing({ head: history.head, run: history.state, webhook });
  return read && upTo(read) >= atLeast ? read : undefined;
};
