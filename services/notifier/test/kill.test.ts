import type { RunKey } from '@runledger/contracts/subjects';
import { assigned, started, succeeded } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { aPlace, BLOWS, type Place } from './fixtures/a-place.ts';
import { aReceiver, status, type Answer, type Receiver } from './fixtures/a-receiver.ts';
import { expectSoon } from './fixtures/expect-soon.ts';
import { expectKept, expectTimer, finalsOf } from './fixtures/kept-promises.ts';

const LIMIT_MS = 120_000;

/** Takes requests and does not answer them before it is told to. */
const holding = (): { readonly answer: Answer; readonly release: (receiver: Receiver) => void } => {
  const held: (() => void)[] = [];
  return {
    answer: (arrived, response) => void held.push(() => status(200)(arrived, response)),
    release: (receiver) => {
      receiver.answer = status(200);
      for (const answer of held.splice(0)) answer();
    },
  };
};

const expectArrivals = (receiver: Receiver, key: RunKey, many: number): Promise<void> =>
  expectSoon(`arrival ${many}`, () => expect(receiver.of(key.run_id)).toHaveLength(many));

/** The broker stands still from the moment of the answer on, so that nothing follows from it. */
const answeredInTheDark = async ({ world }: Place, receiver: Receiver, code: number): Promise<RunKey> => {
  const over = Promise.withResolvers<void>();
  receiver.answer = (arrived, response) => {
    receiver.answer = status(200);
    response.once('close', over.resolve);
    void world.nats.pause().then(() => status(code)(arrived, response));
  };
  const key = await world.succeed(`${receiver.url}/hook`);
  await over.promise;
  return key;
};

const refusedOnce: Answer = (arrived, response) => status(500)(arrived, response);

describe.concurrent.each(BLOWS)(
  'a final notification survives a kill -9 of %s',
  { timeout: LIMIT_MS },
  (blow) => {
    it('before the end of the run is read', async () => {
      await using place = await aPlace(blow);
      await using receiver = await aReceiver();
      const key = await place.world.queue(`${receiver.url}/hook`);
      place.notifier().freeze();
      await place.world.happen(key, assigned(key), started(key), succeeded(key));
      await place.strike();
      await place.recover();
      await expectKept(place.world, [place.notifier()], [{ key, receiver }]);
      expect(receiver.of(key.run_id)).toHaveLength(1);
    });

    it('while the request is in flight', async () => {
      await using place = await aPlace(blow);
      const { answer, release } = holding();
      await using receiver = await aReceiver(answer);
      const key = await place.world.succeed(`${receiver.url}/hook`);
      await expectArrivals(receiver, key, 1);
      await place.strike();
      release(receiver);
      await place.recover();
      await expectKept(place.world, [place.notifier()], [{ key, receiver }]);
      expect(await place.world.webhook(key)).toMatchObject({ tries: 1 });
      expect(receiver.of(key.run_id).length).toBeLessThanOrEqual(2);
    });

    it('after the answer, before the fact', async () => {
      await using place = await aPlace(blow);
      await using receiver = await aReceiver();
      const key = await answeredInTheDark(place, receiver, 200);
      await place.strike();
      await place.recover();
      await expectKept(place.world, [place.notifier()], [{ key, receiver }]);
      expect(await place.world.webhook(key)).toMatchObject({ tries: 1 });
      expect(receiver.of(key.run_id).length).toBeLessThanOrEqual(2);
    });

    it('after a failed try, before the next one is planned', async () => {
      await using place = await aPlace(blow);
      await using receiver = await aReceiver();
      const key = await answeredInTheDark(place, receiver, 500);
      await place.strike();
      await place.recover();
      await expectKept(place.world, [place.notifier()], [{ key, receiver }]);
      expect(receiver.of(key.run_id)).toHaveLength(2);
    });

    it('while the next try waits', async () => {
      await using place = await aPlace(blow);
      await using receiver = await aReceiver(refusedOnce);
      const key = await place.world.succeed(`${receiver.url}/hook`);
      await expectTimer(place.world, key, 'wait');
      receiver.answer = status(200);
      await place.strike();
      await place.recover();
      await expectKept(place.world, [place.notifier()], [{ key, receiver }]);
      expect(await place.world.webhook(key)).toMatchObject({ tries: 2 });
      const [first, second, ...more] = receiver.of(key.run_id);
      expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(3_900);
      expect(more).toEqual([]);
    });

    it('while the next try is due', async () => {
      await using place = await aPlace(blow);
      await using receiver = await aReceiver(refusedOnce);
      const key = await place.world.succeed(`${receiver.url}/hook`);
      await expectTimer(place.world, key, 'wait');
      receiver.answer = status(200);
      place.notifier().freeze();
      await expectTimer(place.world, key, 'due');
      await place.strike();
      await place.recover();
      await expectKept(place.world, [place.notifier()], [{ key, receiver }]);
      expect(await place.world.webhook(key)).toMatchObject({ tries: 2 });
      expect(receiver.of(key.run_id)).toHaveLength(2);
    });

    it('while the next try is in flight', async () => {
      await using place = await aPlace(blow);
      const { answer, release } = holding();
      await using receiver = await aReceiver((arrived, response) => {
        receiver.answer = answer;
        refusedOnce(arrived, response);
      });
      const key = await place.world.succeed(`${receiver.url}/hook`);
      await expectArrivals(receiver, key, 2);
      await place.strike();
      release(receiver);
      await place.recover();
      await expectKept(place.world, [place.notifier()], [{ key, receiver }]);
      expect(await place.world.webhook(key)).toMatchObject({ tries: 2 });
      expect(receiver.of(key.run_id).length).toBeLessThanOrEqual(3);
    });

    it('while it waits for an intermediate one in flight', async () => {
      await using place = await aPlace(blow);
      const { answer, release } = holding();
      await using receiver = await aReceiver(answer);
      const key = await place.world.queue(`${receiver.url}/hook`, { webhook_intermediate_status: true });
      await expectArrivals(receiver, key, 1);
      await place.world.happen(key, assigned(key), started(key), succeeded(key));
      await place.strike();
      release(receiver);
      await place.recover();
      await expectKept(place.world, [place.notifier()], [{ key, receiver }]);
      expect(finalsOf({ key, receiver })).toHaveLength(1);
    });
  },
);
