import { newUuid, orgId } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { aRun, queued } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { clock } from '../../src/kit.ts';
import { freshViews, ofCompleteViews, type FreshAt } from '../../src/views/fresh-views.ts';
import type { RunViews } from '../../src/views/run-views.ts';
import { aLog } from '../fixtures/gateway/a-log.ts';
import { appendAll } from '../fixtures/runs/appended-facts.ts';
import { project } from '../fixtures/views/a-projection.ts';
import { copyOf } from '../fixtures/views/copied-views.ts';
import { sqliteViews } from '../fixtures/views/sqlite-views.ts';

/** Views that lack nothing have all of any organisation. */
const ORG = orgId(newUuid());

let open: AsyncDisposableStack;
let log: EventLog;
let views: RunViews;
/** From before the last fact. */
let older: RunViews;
beforeEach(async () => {
  open = new AsyncDisposableStack();
  ({ log } = open.use(await aLog()));
  views = open.use(sqliteViews());
  open.use(project(log, views));
  await appendAll(log, queued(aRun()));
  await waitFor('the first fact', async () => ((await views.position())?.sequence ?? 0) >= 1);
  older = open.use(await copyOf(views));
  await appendAll(log, queued(aRun()));
});
afterEach(() => open.disposeAsync());

const freshAt: FreshAt['freshAt'] = () => freshViews({ log, views, timeoutMs: 5_000, clock }).freshAt(ORG);

describe('views that are asked for what is not there', () => {
  it('answer with everything of the log, also while more comes', async () => {
    const answer = await ofCompleteViews(views, { freshAt }, ORG, async (at) => {
      const last = await appendAll(log, queued(aRun()));
      await waitFor('it in the views', async () => ((await views.position())?.sequence ?? 0) >= last);
      return at.sequence;
    });
    expect(answer).toBe(2);
  });

  it('are not asked while they are behind, or empty', async () => {
    for (const some of [older, open.use(sqliteViews())]) {
      const fresh = freshViews({ log, views: some, timeoutMs: 50, clock });
      const asked = ofCompleteViews(some, fresh, ORG, async () => expect.unreachable());
      expect(await asked).toBeUndefined();
    }
  });

  it('do not answer when an older copy took their place after they were fresh, before or while they were asked', async () => {
    let live = views;
    const asked = { position: () => live.position() };
    const replacing = async () => {
      const at = await freshAt(ORG);
      live = older;
      return at;
    };
    const before = ofCompleteViews(asked, { freshAt: replacing }, ORG, async () => 'none');
    expect(await before).toBeUndefined();
    live = views;
    const meanwhile = ofCompleteViews(asked, { freshAt }, ORG, async () => {
      live = older;
      return 'none';
    });
    expect(await meanwhile).toBeUndefined();
  });
});
