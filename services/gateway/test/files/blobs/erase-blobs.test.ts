import { jsonBlob } from '@runledger/blob-store/json-blob';
import { jetStreamBlobStore } from '@runledger/blob-store/jetstream-blob-store';
import { BlobStoreFull, type BlobStore } from '@runledger/blob-store/blob-store';
import type { BlobRef } from '@runledger/contracts/blobs';
import { newUuid, orgId } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { someOf } from '@runledger/testing/random/cases';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eraseBlobs, type EraseBlobs, type FindUnreferenced } from '../../../src/files/blobs.ts';
import { aLog } from '../../fixtures/gateway/a-log.ts';

const ORG = orgId(newUuid());
const someInputs = () => jsonBlob({ id: newUuid(), prompt: 'x'.repeat(5_000) });

/** What happens at a step of a process: a request to the broker, or a look for references. */
type AtStep = (step: number) => Promise<'killed' | undefined>;

/** A process with a connection of its own. When it is killed at a step, that and all that would follow does not happen. */
interface Process {
  readonly store: BlobStore;
  readonly erase: EraseBlobs;
  /** Resolves with the steps that the work of this process took. */
  inSteps(at: AtStep, work: () => Promise<unknown>): Promise<number>;
}

describe('erasing blobs at once', () => {
  let open: AsyncDisposableStack;
  let log: Awaited<ReturnType<typeof aLog>>;
  let one: Process;
  let other: Process;
  let writer: BlobStore;
  const referred = new Set<string>();
  const find: FindUnreferenced = async (blobs) => blobs.filter(({ sha256 }) => !referred.has(sha256));
  const aStore = (of: EventLog): BlobStore =>
    jetStreamBlobStore(of, { stream: 'BLOBS', youngForMs: 1_800_000 });

  const aProcess = async (): Promise<Process> => {
    const own = open.use(await log.open());
    const store = aStore(own);
    let step = 0;
    let at: AtStep | undefined;
    let isKilled = false;
    const takeStep = async (): Promise<void> => {
      if (!at) return;
      if (!isKilled) isKilled = (await at((step += 1))) === 'killed';
      if (isKilled) throw new Error('killed');
    };
    const request = own.nc.request.bind(own.nc);
    own.nc.request = async (...of) => {
      await takeStep();
      return request(...of);
    };
    const look: FindUnreferenced = async (blobs) => {
      await takeStep();
      return find(blobs);
    };
    const erase = eraseBlobs(store, look, () => undefined);
    return {
      store,
      erase,
      inSteps: async (atStep, work) => {
        [step, isKilled, at] = [0, false, atStep];
        await work().catch((error: unknown) => {
          if (!isKilled) throw error;
        });
        at = undefined;
        return step;
      },
    };
  };

  beforeAll(async () => {
    open = new AsyncDisposableStack();
    log = open.use(await aLog());
    writer = aStore(log.log);
    [one, other] = [await aProcess(), await aProcess()];
  });
  afterAll(() => open.disposeAsync());

  /** A blob of a deleted run, whose bytes another run is about to refer to. */
  const aBlob = async () => {
    const inputs = someInputs();
    const ref = await writer.put(ORG, inputs);
    return {
      ref,
      refer: () => void referred.add(ref.sha256),
      confirm: (by = writer) => by.confirm(ORG, inputs),
    };
  };
  const isThere = async ({ sha256 }: BlobRef): Promise<boolean> =>
    (await writer.find(ORG, sha256)) !== undefined;
  const eraseInSteps = (ref: BlobRef, at: AtStep) => one.inSteps(at, () => one.erase(ORG, [ref]));
  const countSteps = async (): Promise<number> => eraseInSteps((await aBlob()).ref, async () => undefined);
  const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);
  const leftovers = async (): Promise<number> => {
    const filter = { subjects_filter: '$KV.CATALOGUE.blob_erasures.>' };
    const { state } = await log.log.jsm.streams.info('KV_CATALOGUE', filter);
    return Object.keys(state.subjects ?? {}).length;
  };

  it('erases what nothing refers to, wherever a process was killed before, and leaves nothing', async () => {
    const steps = await countSteps();
    expect(steps).toBeGreaterThan(3);
    for (const killedAt of upTo(steps)) {
      const { ref } = await aBlob();
      await eraseInSteps(ref, async (step) => (step === killedAt ? 'killed' : undefined));
      expect(await other.erase(ORG, [ref])).toBe(true);
      expect([killedAt, await isThere(ref)]).toEqual([killedAt, false]);
    }
    expect(await leftovers()).toBe(0);
  });

  interface Moment {
    /** The steps of the erasure before which the other run refers to the bytes, and confirms it. */
    readonly referredAt: number;
    readonly confirmedAt: number;
    /** The step at which the erasure is killed, or stands still while another process erases. */
    readonly stoppedAt: number;
  }
  /** The gate tries every third, which has each moment of each of the three. */
  const momentsOf = (steps: number): Moment[] =>
    someOf(allMomentsOf(steps), (of) => (of.referredAt + of.confirmedAt + of.stoppedAt) % 3 === 0);
  const allMomentsOf = (steps: number): Moment[] =>
    upTo(steps).flatMap((referredAt) =>
      upTo(steps)
        .filter((step) => step >= referredAt)
        .flatMap((confirmedAt) =>
          upTo(steps + 1).map((stoppedAt) => ({ referredAt, confirmedAt, stoppedAt })),
        ),
    );

  it.each(['is killed', 'stands still while another one erases'] as const)(
    'loses nothing that a run began to refer to at any moment, when the process %s at any other',
    async (what) => {
      const steps = await countSteps();
      for (const moment of momentsOf(steps)) {
        const { ref, refer, confirm } = await aBlob();
        let isConfirmed = false;
        const confirmOnce = async (): Promise<void> => {
          if (isConfirmed) return;
          isConfirmed = true;
          await confirm();
        };
        await eraseInSteps(ref, async (step) => {
          const isStopped = step === moment.stoppedAt;
          if (step >= moment.referredAt) refer();
          if (isStopped && what !== 'is killed') await other.erase(ORG, [ref]);
          if (step >= moment.confirmedAt) await confirmOnce();
          return isStopped && what === 'is killed' ? 'killed' : undefined;
        });
        refer();
        await confirmOnce();
        expect([moment, await isThere(ref)]).toEqual([moment, true]);
        expect(await other.erase(ORG, [ref])).toBe(true);
        expect([moment, await isThere(ref)]).toEqual([moment, true]);
      }
      expect(await leftovers()).toBe(0);
    },
    240_000,
  );

  it('loses nothing when it goes on in the middle of a confirmation', async () => {
    const steps = await countSteps();
    for (const stoppedAt of upTo(steps))
      for (const goesOnAt of upTo(4)) {
        const { ref, refer, confirm } = await aBlob();
        const [stands, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
        const erasing = eraseInSteps(ref, async (step) => {
          if (step !== stoppedAt) return undefined;
          stands.resolve();
          await goesOn.promise;
          return undefined;
        });
        await stands.promise;
        refer();
        const goOn = async (): Promise<undefined> => {
          goesOn.resolve();
          await erasing;
        };
        await other.inSteps(
          async (step) => (step === goesOnAt ? goOn() : undefined),
          () => confirm(other.store),
        );
        await goOn();
        const moment = { stoppedAt, goesOnAt };
        expect([moment, await isThere(ref)]).toEqual([moment, true]);
      }
  });

  it('erases nothing while it is unknown who refers to it', async () => {
    const { ref } = await aBlob();
    const erasing = (unreferenced: FindUnreferenced) =>
      eraseBlobs(writer, unreferenced, () => undefined)(ORG, [ref]);
    expect(await erasing(async () => undefined)).toBe(false);
    let looks = 0;
    expect(await erasing(async (blobs) => ((looks += 1) === 1 ? blobs : undefined))).toBe(false);
    expect(await isThere(ref)).toBe(true);
    expect(await one.erase(ORG, [ref])).toBe(true);
    expect([await isThere(ref), await leftovers()]).toEqual([false, 0]);
  });

  it('erases also when the store is full', async () => {
    const { ref } = await aBlob();
    const { config, state } = await log.log.jsm.streams.info('BLOBS');
    await log.log.jsm.streams.update('BLOBS', { max_bytes: state.bytes });
    await expect(writer.put(ORG, someInputs())).rejects.toThrow(BlobStoreFull);
    expect(await one.erase(ORG, [ref])).toBe(true);
    expect(await isThere(ref)).toBe(false);
    await log.log.jsm.streams.update('BLOBS', { max_bytes: config.max_bytes });
  });

  it('passes over what is gone', async () => {
    const { ref } = await aBlob();
    expect(await one.erase(ORG, [ref])).toBe(true);
    expect(await one.erase(ORG, [ref])).toBe(true);
  });
});
