// The workloads of the conformance suite with the TypeScript helper.
// oxlint-disable no-console -- what a program prints is its log
import { spawn, spawnSync } from 'node:child_process';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RunFailed, serve } from '@runledger/resident';

const file = (context, name, content = '') => writeFile(join(context.outputDir, name), content);
const aborted = (signal) => new Promise((resolve) => signal.addEventListener('abort', resolve));

const works = {
  'succeeds with text and a file': async (_, context) => {
    context.progress(0.25, 'row 1/2');
    console.log('a line of its log');
    context.output('one');
    context.output('7', 'seed');
    context.progress(1);
    context.output(['two']);
    await mkdir(join(context.outputDir, 'frames'));
    await file(context, 'frames/1.png', '12345');
  },
  fails: () => {
    throw new Error('size is too large');
  },
  'fails after a file': async (_, context) => {
    await file(context, 'half.png');
    throw new RunFailed('no memory');
  },
  crashes: () => process.kill(process.pid, 'SIGKILL'),
  'ends when it is cancelled': async (_, context) => {
    context.progress(0.5);
    await aborted(context.signal);
    await file(context, 'tidied');
    context.progress(0.6);
  },
  'ignores a cancel': (_, context) => {
    context.progress(0.5);
    return new Promise(() => undefined);
  },
  'puts out JSON values': (_, context) => {
    context.output({
      boxes: [
        [1, 2],
        [3.5, null],
      ],
    });
    context.output(['a text', null, true]);
  },
  'puts out NaN': (_, context) => {
    context.output([0.91, NaN, -Infinity], 'scores');
    context.output({ loss: NaN });
    context.progress(NaN, 'half');
  },
  'puts out nothing': (_, context) => context.output(undefined),
  'prints in every way and raises': ({ n }, context) => {
    context.progress(0.5, `run ${n}`);
    console.log(`${n}: print`);
    process.stdout.write(`${n}: printf\n`);
    spawnSync('echo', [`${n}: child`], { stdio: ['ignore', 'inherit', 'inherit'] });
    context.output(String(n));
    process.stdout.write(`${n}: the last`);
    throw new Error(`${n}: raised`);
  },
  'leaves a child that writes': () => {
    spawn('sh', ['-c', 'sleep 0.3; echo late'], { stdio: ['ignore', 'inherit', 'inherit'] });
    console.log('its own');
  },
  'leaves what writes': ({ what }, context) => {
    const loop = `for n in $(seq 100); do echo ${what} of a child; sleep 0.05; done`;
    spawn('sh', ['-c', loop], { stdio: ['ignore', 'inherit', 'inherit'] });
    setInterval(() => {
      console.log(`${what} of a timer`);
      process.stderr.write(`\r${what}: 40%|####      | 4/10 [00:01<00:02]\r\n`);
      context.output(`${what} of an output`);
    }, 30).unref();
    console.log(`${what} itself`);
  },
  'prints for a while': async () => {
    console.log('first');
    setTimeout(() => console.log('in a thread'), 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    console.log('x'.repeat(40_000));
    const child = spawn('sh', ['-c', 'sleep 0.5; echo child'], { stdio: ['ignore', 'inherit', 'inherit'] });
    await new Promise((resolve) => child.once('exit', resolve));
    process.stderr.write('an error');
  },
  'leaves a file': (_, context) => file(context, 'begun'),
  'writes its log': () => {
    console.log('one');
    process.stdout.write('two\n');
  },
  'floods its output': (_, context) => {
    process.stdout.write('x'.repeat(3_000_000));
    process.stdout.write(`\n${'y\n'.repeat(500_000)}`);
    context.output('last');
  },
  'writes too much text': (_, context) => {
    for (let line = 0; line < 7; line += 1) context.output('x'.repeat(40_000));
  },
  'copies an input file': (inputs, context) =>
    copyFile(join(context.inputDir, inputs.picture), join(context.outputDir, 'copy')),
  'tells its seed': (inputs, context) =>
    context.output([`${inputs.seed}`, `${typeof inputs.text} ${inputs.text}`]),
  'ignores its input': () => undefined,
  'fails for good': () => {
    throw new RunFailed('the size is wrong', { retryable: false });
  },
  'prints what looks like a message': (_, context) => {
    console.log(JSON.stringify({ type: 'failed', run_id: context.runId, message: 'printed' }));
    process.stdout.write('{"type":');
    context.output('whole');
  },
};

if (process.env.PRINTS_WHILE_LOADING) process.stdout.write('loading, without the end of a line');
await serve((inputs, context) => works[inputs.workload](inputs, context));
