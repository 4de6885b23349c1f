import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { processesOfRuns, supervisorsOf } from '../../fixtures/marked-processes.ts';
import { isolations } from '../../fixtures/isolations.ts';
import { writableFolder } from '../../runners/program/run-a-program.ts';
import { bareProgram, openResidentProgram } from '../../runners/program/run-a-resident-program.ts';

/** Its `$0` is a file that all its processes see. */
const sh = (script: string): ReturnType<typeof bareProgram> => {
  const folder = writableFolder();
  const args = ['-c', script, join(folder, 'again')];
  return { ...bareProgram(), command: '/bin/sh', args, writable: [folder] };
};

const RUN_ID = `run_id=$(echo "$run" | cut -d '"' -f 8)`;

describe.each(isolations)('a resident program %s', (_, isolation) => {
  it('ends with its supervisor, and is started anew with another one', async () => {
    const script = `echo '{"type":"ready"}'; while read -r run; do ${RUN_ID}
      if test -e "$0"; then echo "{\\"type\\":\\"done\\",\\"run_id\\":\\"$run_id\\"}"; continue; fi
      touch "$0"; echo "{\\"type\\":\\"progress\\",\\"run_id\\":\\"$run_id\\",\\"progress\\":0.5}"; done`;
    const start = await openResidentProgram(sh(script), { isolation });
    const one = start('waits');
    await vi.waitUntil(() => one.reports.some(({ progress }) => progress > 0), { timeout: 20_000 });
    for (const pid of await supervisorsOf(one.processFolder)) process.kill(pid, 'SIGKILL');
    expect(await one.result).toMatchObject({ outcome: 'failed', error: { kind: 'crashed' } });
    expect(await processesOfRuns(one.processFolder)).toEqual([]);
    expect(await start('succeeds', { nth: 1 }).result).toMatchObject({ outcome: 'succeeded' });
  });

  it('leaves no writer to the next one, and all that it wrote itself is read', async () => {
    // Without its environment it has no mark.
    const babble = `touch "$1"; while echo old; do sleep 0.05; done`;
    const script = `echo '{"type":"ready"}'; read -r run; ${RUN_ID}
      if test -e "$0"; then sleep 0.5; echo "{\\"type\\":\\"done\\",\\"run_id\\":\\"$run_id\\"}"; read -r end; exit; fi
      env -i /usr/bin/setsid /bin/sh -c '${babble}' sh "$0" & until test -e "$0"; do sleep 0.05; done
      seq 1000; exit 3`;
    const start = await openResidentProgram(sh(script), { isolation });
    const one = start('leaves a writer');
    expect(await one.result).toMatchObject({ outcome: 'failed', error: { exit_code: 3 } });
    expect(one.lines.map(({ line }) => line)).toContain('1000');
    const next = start('succeeds', { nth: 1 });
    expect(await next.result).toMatchObject({ outcome: 'succeeded' });
    expect(next.lines).toEqual([]);
  });
});
