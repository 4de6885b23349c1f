// A resident program without a package, so that its own time is as little as it can be.
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';

const say = (...messages) =>
  process.stdout.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));

// Like the programs of the helper packages.
say({ type: 'ready', makes_output_dir: true });
for await (const line of createInterface({ input: process.stdin })) {
  const { type, run_id } = JSON.parse(line);
  if (type !== 'run') continue;
  for (const progress of [0.25, 0.5, 0.75]) say({ type: 'progress', run_id, progress });
  say({ type: 'output', run_id, text: [randomBytes(750).toString('base64')] }, { type: 'done', run_id });
}
