import { isContinued, type ProjectionPosition } from './core/projection-start.ts';
import type { FreshViews } from './fresh-views.ts';
import type { RunViews } from './run-views.ts';

export interface CompleteViewsOptions {
  readonly views: Pick<RunViews, 'position'>;
  readonly fresh: Pick<FreshViews, 'freshAt'>;
}

/**
 * What views answer that have every fact, before and after they are asked: so that what they do not know is not there. Undefined while that is
 * unknown: they are behind, have missed facts, or were emptied or replaced by a copy meanwhile. Whoever does something because the views lack a
 * run asks here. @throws {ViewsUnavailable} and what `ask` throws
 */
export const ofCompleteViews = async <Answer>(
  { views, fresh }: CompleteViewsOptions,
  ask: (at: ProjectionPosition) => Promise<Answer>,
): Promise<Answer | undefined> => {
  const at = await fresh.freshAt();
  if (!at) return undefined;
  const answer = await ask(at);
  // A copy that is older is behind it, and views that were derived again come from another derivation.
  return isContinued(at, await views.position()) ? answer : undefined;
};
