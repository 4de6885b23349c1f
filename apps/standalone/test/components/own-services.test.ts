import { expect, it } from 'vitest';
import { ownServices } from '../../src/components/own-services.ts';

const addresses = {
  natsUrl: 'nats://127.0.0.1:4222',
  views: { kind: 'sqlite', file: 'views.sqlite' },
  host: '127.0.0.1',
  port: 8080,
  healthPorts: [9101, 9102],
} as const;

it('are the broker, the API and the health ports', () => {
  expect(ownServices(addresses)).toEqual([
    '127.0.0.1:4222',
    '127.0.0.1:8080',
    '127.0.0.1:9101',
    '127.0.0.1:9102',
  ]);
});

it('are every address of this machine when the API listens on all of them', () => {
  expect(ownServices({ ...addresses, host: '0.0.0.0' })).toEqual(
    expect.arrayContaining(['0.0.0.0:8080', '127.0.0.1:8080']),
  );
  expect(ownServices({ ...addresses, host: '::1' })).toContain('[::1]:8080');
});

it.each([
  ['mongodb://127.0.0.1:27018/runledger?directConnection=true', ['127.0.0.1:27018']],
  ['mongodb://u:p%40ss@a.example:1,b.example/db', ['a.example:1', 'b.example:27017']],
  ['mongodb://[::1]:27017', ['[::1]:27017']],
  ['mongodb://%2Ftmp%2Fmongodb.sock/db', []],
  ['mongodb+srv://u:p@cluster.example/db', []],
])('are the hosts of %s', (url, hosts) => {
  const own = ownServices({ ...addresses, views: { kind: 'given', url } });
  expect(own).toEqual(['127.0.0.1:4222', ...hosts, '127.0.0.1:8080', '127.0.0.1:9101', '127.0.0.1:9102']);
});
