import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import { beginningOf, type ProjectionPosition } from './core/projection-start.ts';
import { readStart } from './read-start.ts';
import type { RunViews } from './run-views.ts';

interface BeginOptions {
  readonly log: EventLog;
  readonly views: Pick<RunViews, 'position' | 'resetTo'>;
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
      return start.from;
    case 'start_again':
      // This is normal at the first start.
      logger[position ? 'warn' : 'info'](
        { because: start.because },
        'the run views are derived again from the log',
      );
      const beginning = beginningOf(
        identity,
        Math.max(position?.derivation ?? 0, known?.derivation ?? 0) + 1,
      );
      await views.resetTo(beginning);
      return beginning;
  }
};
