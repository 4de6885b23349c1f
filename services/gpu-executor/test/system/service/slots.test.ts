import { describe, expect, it } from 'vitest';
import { startService } from './service-test-bed.ts';

describe('the slots of an executor', () => {
  it('give their runs the card that they are on, and none on a CPU slot', async () => {
    const device = `echo '{"output": {"text": ["device '"$CUDA_VISIBLE_DEVICES"'"]}}'`;
    await using service = await startService({
      EXECUTOR_GPUS: 'rtx4090:1x2,T4:1,cpu:1',
      EXECUTOR_PROGRAMS: JSON.stringify({ device: ['sh', '-c', device] }),
      CUDA_VISIBLE_DEVICES: '4,7',
    });
    const { slots } = service.registered;
    expect(slots.map(({ gpu }) => gpu)).toEqual(['RTX4090', 'RTX4090', 'T4', 'CPU']);
    const ends = await Promise.all(
      slots.map(async ({ slot, gpu }) => {
        const { run } = await service.assign('device', { slot, gpu });
        return service.fact(run, 'RunSucceeded');
      }),
    );
    expect(ends.map(({ data }) => 'outputs' in data && data.outputs)).toEqual(
      ['device 4', 'device 4', 'device 7', 'device '].map((text) => [
        expect.objectContaining({ data: { text: [text] } }),
      ]),
    );
  });
});
