import { expect, it } from 'vitest';
import { pictures } from '../src/report/pictures.ts';

it('the pictures show each figure that was measured, with its median', () => {
  const files = pictures([
    {
      runs: 300,
      'ready.gateway': 700,
      'cli.get': 130,
      'cli.get.cpu': 120,
      'started.p50': 2,
      cpu: 4,
      'cpu.gateway': 1.5,
      memory: 900,
    },
    { runs: 340, 'started.p50': 4, cpu: 5, 'cpu.gateway': 1.5, memory: 950 },
    { runs: 320, 'started.p50': 3, cpu: 4.5, 'cpu.gateway': 1.5, memory: 910 },
  ]);
  expect([...files.keys()]).toEqual([
    'rates.svg',
    'times.svg',
    'starts.svg',
    'processor-time.svg',
    'memory.svg',
  ]);
  expect(files.get('rates.svg')).toContain('>320</text>');
  expect(files.get('starts.svg')).toContain('>from the start of a process to ready: gateway</text>');
  expect(files.get('starts.svg')).toContain('>runledger get RUN</text>');
  expect(files.get('starts.svg')).not.toContain('>120</text>');
  expect(files.get('processor-time.svg')).toContain('>gateway</text>');
  expect(files.get('processor-time.svg')).not.toContain('scheduler');
});
