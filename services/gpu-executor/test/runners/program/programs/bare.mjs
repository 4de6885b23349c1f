// A resident program without a helper: each run names in its inputs what it does.
import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const say = (message) => void process.stdout.write(`${JSON.stringify(message)}\n`);
let cancelled = () => undefined;

const begin = ({ run_id, inputs, output_dir, input_dir }) => {
  const of = (type, rest) => say({ type, run_id, ...rest });
  const file = (name, content = '') => writeFileSync(join(output_dir, name), content);
  const done = () => of('done');
  const works = {
    'succeeds with text and a file': () => {
      of('progress', { progress: 0.25, live_status: 'row 1/2' });
      process.stdout.write('a line of its log\n');
      of('output', { text: ['one'], seed: [7] });
      of('progress', { progress: 1 });
      of('output', { text: ['two'] });
      mkdirSync(join(output_dir, 'frames'));
      file('frames/1.png', '12345');
      done();
    },
    fails: () => of('failed', { message: 'size is too large', retryable: true }),
    'fails after a file': () => {
      file('half.png');
      of('failed', { message: 'no memory' });
    },
    crashes: () => process.kill(process.pid, 'SIGKILL'),
    'ends when it is cancelled': () => {
      cancelled = () => {
        file('tidied');
        of('failed', { message: 'cancelled' });
      };
      of('progress', { progress: 0.5 });
    },
    'ignores a cancel': () => of('progress', { progress: 0.5 }),
    'puts out JSON values': () => {
      of('output', {
        json: [
          {
            boxes: [
              [1, 2],
              [3.5, null],
            ],
          },
          'a text',
          null,
          true,
        ],
      });
      done();
    },
    'leaves a file': () => {
      file('begun');
      done();
    },
    'writes its log': () => {
      process.stdout.write('one\n');
      process.stdout.write('two\n');
      done();
    },
    'floods its output': () => {
      process.stdout.write('x'.repeat(3_000_000));
      process.stderr.write('error\n'.repeat(150_000));
      process.stdout.write(`\n${'y\n'.repeat(500_000)}`);
      of('output', { text: ['last'] });
      done();
    },
    'writes too much text': () => {
      for (let line = 0; line < 7; line += 1) of('output', { text: ['x'.repeat(40_000)] });
      done();
    },
    'copies an input file': () => {
      copyFileSync(join(input_dir, inputs.picture), join(output_dir, 'copy'));
      done();
    },
    'ignores its input': done,
    // Beyond the contract of every runner:
    'says its process': () => {
      of('output', { text: [String(process.pid)] });
      done();
    },
    'ends after it': () => {
      process.stderr.write(`the end of ${process.env.TOKEN} in ${output_dir}\n`, () =>
        process.exit(inputs.code),
      );
    },
    'speaks for another run': () => {
      say({ type: 'output', run_id: 'another', text: ['wrong'] });
      say({ type: 'done', run_id: 'another' });
      say({ type: 'progress', run_id, progress: 7 });
      process.stdout.write('{"type":"done"}\n{"type":\n[1]\n');
      of('output', { text: 'right' });
      done();
    },
    'stays in its output folder': () => {
      process.chdir((lastOutputs = output_dir));
      done();
    },
    'writes where it is, and where the last run had its outputs': () => {
      for (const path of ['late', join(lastOutputs, 'late')])
        try {
          writeFileSync(path, 'of the last run');
        } catch {
          // There is no such folder any more.
        }
      done();
    },
    'lists its input folder': () => {
      of('output', { text: [readdirSync(input_dir).join()] });
      done();
    },
    'writes into its input folder': () => {
      try {
        writeFileSync(join(input_dir, 'left'), '');
      } catch {
        // Only root may.
      }
      done();
    },
    'says whether it has an output folder': () => {
      of('output', { text: [existsSync(output_dir)] });
      done();
    },
    'makes its output folder': () => {
      mkdirSync(output_dir);
      file('made');
      done();
    },
    'fails for good': () => of('failed', { message: `${process.env.TOKEN} is wrong`, retryable: false }),
    'writes to both streams, and ends at once': () => {
      process.stdout.write(`${inputs.n}: out\n`);
      process.stderr.write(`${inputs.n}: error\n`.repeat(2_000));
      done();
    },
    'leaves an invalid output': () => {
      process.stdout.write(`{"type":"output","run_id":"${run_id}","text":["a "quote""]}\n`);
      done();
    },
    'writes one long text': () => {
      of('output', { text: ['x'.repeat(200_000)] });
      done();
    },
    'returns its run': () => {
      of('output', { text: [JSON.stringify(Object.keys(lastRun))] });
      done();
    },
  };
  works[inputs.workload]();
};

let lastRun;
let lastOutputs;
if (process.env.FAILS_TO_START) {
  process.stderr.write(`no weights in ${process.env.TOKEN}\n`, () => process.exit(3));
} else {
  createInterface({ input: process.stdin })
    .on('line', (line) => {
      const message = JSON.parse(line);
      if (message.type === 'run') begin((lastRun = message));
      if (message.type === 'cancel') cancelled();
    })
    .on('close', () => process.exit());
  say({ type: 'ready', makes_output_dir: process.env.MAKES_OUTPUT_DIR !== undefined });
}
