import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import type { RunsIdentity } from '@runledger/event-log/messages/stream-identity';
import { beginningOf, hasMissed, withMissed, type ProjectionPosition } from './core/projection-start.ts';
import { ViewsReplaced } from './position-watch.ts';
import { readStart } from './read-start.ts';
import type { RunViews } from './run-views.ts';

interface BeginOptions {
  readonly log: EventLog;
  readonly views: Pick<RunViews, 'advance' | 'position' | 'resetTo'>;
  readonly logger: Logger;
}

/**
 * The position to go on from, after a reset of views that must be derived again. `known` is the latest that this process has seen.
 * @throws {LogUnavailable} @throws {ViewsUnavailable}
 */
export const beginProjection = async (
  { log, views, logger }: BeginOptions,
  known: ProjectionPosition | undefined,
): Promise<ProjectionPosition> => {
  const position = await views.position();
  const { identity, start } = await readStart(log, position, known);
  switch (start.kind) {
    case 'continue':
      return goPastMissed({ views, logger }, position ?? start.from, identity);
    case 'start_again':
      // This is normal at the first start.
      logger[position ? 'warn' : 'info'](
        { because: start.because },
        'the run views are derived again from the log',
      );
      const derivation = Math.max(position?.derivation ?? 0, known?.derivation ?? 0) + 1;
      const beginning = withMissed(beginningOf(identity, derivation), identity);
      await views.resetTo(beginning);
      return beginning;
  }
};

/**
 * The position behind what the log has lost before the views had it. From then on it is known that they lack it, until it is recovered.
 * @throws {ViewsUnavailable} @throws {ViewsReplaced}
 */
export const goPastMissed = async (
  { views, logger }: { readonly views: Pick<RunViews, 'advance'>; readonly logger: Logger },
  at: ProjectionPosition,
  log: RunsIdentity,
): Promise<ProjectionPosition> => {
  if (!hasMissed(at, log)) return at;
  const to = withMissed(at, log);
  if (!(await views.advance([], at, to)))
    throw new ViewsReplaced(`the views are not at ${at.sequence}, which was written last`);
  const { missed } = to;
  logger.warn({ missed }, 'facts left the log before the run views had them; the archive is read for them');
  return to;
};
