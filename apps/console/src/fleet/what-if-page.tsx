import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useState, type ReactNode } from 'react';
import { FileDrop } from '../ui/file-drop.tsx';
import { Problem } from '../ui/problem.tsx';
import type { Tried } from '@runledger/simulate/what-if/outcome';
import { Outcome } from './outcome.tsx';
import { Simulator } from './simulator.ts';
import { TriedForm } from './tried-form.tsx';

/** Plays a captured day of the fleet again, with other weights, limits and slots. */
export const WhatIfPage = (): ReactNode => {
  const [simulator] = useState(() => new Simulator());
  useEffect(() => () => simulator.stop(), [simulator]);
  const play = useMutation({ mutationFn: async (tried: Tried) => simulator.play(tried) });
  const read = useMutation({ mutationFn: async (file: File) => simulator.read(file) });
  const take = (file: File): void => {
    play.reset();
    read.mutate(file);
  };
  return (
    <div className="stack">
      <h1>What if?</h1>
      <HowToCapture />
      <section className="stack" aria-label="The captured day">
        <label htmlFor="day">The file of a captured day</label>
        <FileDrop id="day" accept=".zst" onFiles={([file]) => file && take(file)}>
          <p className="quiet" role="status">
            {read.isPending && 'Reading it …'}
            {read.isIdle && 'Choose it, or drop it here.'}
            {read.data?.notes.join(' ')}
          </p>
          {read.error && <Problem error={read.error} />}
        </FileDrop>
      </section>
      {read.data && (
        <TriedForm
          key={read.submittedAt}
          day={read.data}
          isPending={play.isPending}
          onPlay={(tried) => play.mutate(tried)}
        />
      )}
      {play.error && <Problem error={play.error} />}
      {play.data && <Outcome outcome={play.data} />}
    </div>
  );
};

const CAPTURE = 'runledger capture --from YESTERDAY --to TODAY --output day.ndjson.zst';

const HowToCapture = (): ReactNode => (
  <div className="panel">
    <p>
      The simulator plays a day of this installation again, with the decisions of the real scheduler, and
      shows how long runs would have waited with other weights, limits or <Link to="/fleet">slots</Link>. It
      works in this browser: the file is sent nowhere.
    </p>
    <p>An operator takes a day out of the log with the command line, with times such as 2026-05-01T00:00Z:</p>
    <pre tabIndex={0}>{CAPTURE}</pre>
  </div>
);
