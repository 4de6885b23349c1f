import { newUuid } from '@runledger/contracts/ids';
import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import { aLogOnOwnBroker } from '@runledger/event-log/test/fixtures/test-log';
import { describe, expect, it } from 'vitest';
import { openBlobStores } from '../../src/blob-stores.ts';
import { jsonBlob } from '../../src/json-blob.ts';

const ORG = newUuid();
const aBlob = (number: number) => jsonBlob({ number, text: 'x'.repeat(20_000) });

describe('blobs in a broker that is away', () => {
  it('that were acknowledged survive kill -9, and storing continues after the restart', async () => {
    await using test = await aLogOnOwnBroker();
    const { blobs } = openBlobStores(test.log);
    const acknowledged = await Promise.all(Array.from({ length: 50 }, (_, n) => blobs.put(ORG, aBlob(n))));
    const underway = Array.from({ length: 50 }, (_, n) => blobs.put(ORG, aBlob(1_000 + n)));
    await test.nats.kill9();
    await test.nats.restart();
    for (const { sha256 } of [...acknowledged, ...(await Promise.all(underway))]) {
      expect(await blobs.get(ORG, sha256)).toBeDefined();
    }
    expect((await test.log.jsm.streams.info('BLOBS')).state.messages).toBe(100);
  });

  it('are refused in time while it hangs, and the same blob can be stored afterwards', async () => {
    await using test = await aLogOnOwnBroker();
    const { blobs } = openBlobStores(test.log);
    await blobs.put(ORG, aBlob(1));
    await test.nats.pause();
    const begun = performance.now();
    await expect(blobs.put(ORG, aBlob(2))).rejects.toThrow(LogUnavailable);
    expect(performance.now() - begun).toBeLessThan(15_000);
    test.nats.resume();
    const { sha256 } = await blobs.put(ORG, aBlob(2));
    expect(await blobs.get(ORG, sha256)).toEqual(Buffer.from(aBlob(2)));
  });
});
