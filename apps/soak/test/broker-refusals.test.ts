import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { brokerRefusals } from '../src/faults/trespass.ts';

const line = (client: string, subject: string): string =>
  `[1] [ERR] 127.0.0.1:1 - cid:4 - "v3:nats.js:${client}" - Publish Violation - Subject "${subject}"`;

it('is everything that a broker refused to a service, but a response that came too late', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'refusals-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const refused = line('scheduler-1', 'runs.x');
  const lines = [refused, line('scheduler-1', '_R_.LvJ3M8.1muDNe'), '[1] [INF] Server is ready'];
  writeFileSync(join(folder, 'broker-1.log'), lines.join('\n'));
  expect(await brokerRefusals(folder)).toEqual([refused]);
});
