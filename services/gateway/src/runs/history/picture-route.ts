import { operation, route, type Route } from '../../http/operation.ts';
import { Refused } from '../../http/refusal.ts';
import { sendTagged } from '../../http/entity-tag.ts';
import { REVALIDATED } from '../../http/response-headers.ts';
import { RunPath, runKeyOf } from '../current/run-path.ts';
import { durationWords, waterfallPicture } from './core/waterfall-picture.ts';
import { waterfall } from './core/waterfall.ts';
import type { ReadHistorySource } from './history-source.ts';

const pictureOperation = operation({
  id: 'getRunHistoryPicture',
  method: 'GET',
  path: '/run/{run_id}/history.svg',
  tag: 'Runs',
  summary: 'See where the time of a run went',
  description:
    'A picture of its history: for each attempt how long it was queued, started, loaded, ran and uploaded, and when its notifications were sent.',
  scope: 'runs:read',
  request: { path: RunPath },
  response: { status: 200, description: 'The picture.', contentType: 'image/svg+xml' },
  refusals: [404, 410],
});

/** A picture may have a style of its own, and nothing else. */
const PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

export interface PictureRoute {
  readonly source: ReadHistorySource;
  readonly now: () => Date;
}

export const pictureRoute = ({ source, now }: PictureRoute): Route =>
  route(pictureOperation, async ({ path }, caller, ctx) => {
    const key = runKeyOf(path, caller);
    const read = await source(key);
    const drawn = waterfall(read, now().getTime());
    if (!drawn) throw new Refused({ code: 'run_history_expired', why: FORGOTTEN });
    const subtitle = `${read.run?.status ?? 'unknown'}, ${durationWords((drawn.to - drawn.from) / 1_000)} in all`;
    ctx.type = 'image/svg+xml';
    ctx.set({ 'Content-Security-Policy': PICTURE_POLICY, 'Cache-Control': REVALIDATED });
    sendTagged(ctx, waterfallPicture(drawn, { title: `Run ${key.run_id}`, subtitle }));
  });

const FORGOTTEN =
  'The log does not have the beginning of this run any more: it keeps facts for a limited time, 7 days by default';
