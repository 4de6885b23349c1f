import { waitFor } from '@runledger/testing/wait-for';
import { Type } from 'typebox';
import { expect, it } from 'vitest';
import { LogUnavailable } from '../../../src/connect/event-log.ts';
import { openTable } from '../../../src/table/table.ts';
import { aLogOnOwnBroker } from '../../fixtures/test-log.ts';

const Name = Type.Object({ name: Type.String() });

it(
  'a table answers nothing while the broker is away, and has everything afterwards',
  { timeout: 60_000 },
  async () => {
    await using own = await aLogOnOwnBroker();
    const names = openTable(own.log, {
      bucket: 'KEYS',
      prefix: 'away',
      schema: Name,
      keep: ({ name }) => name,
      sortKey: (name) => name,
    });
    await names.put('away.1', { name: 'one' });
    await names.put('away.2', { name: 'two' });
    expect((await names.now()).size).toBe(2);
    await own.nats.kill9();
    await expect(names.now()).rejects.toBeInstanceOf(LogUnavailable);
    await own.nats.restart();
    const erase = () =>
      names.erase('away.1').then(
        () => true,
        () => undefined,
      );
    await waitFor('the broker', erase);
    expect((await names.now()).newestFirst().map(({ value }) => value)).toEqual(['two']);
  },
);
