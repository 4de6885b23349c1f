'use client';
// Queues a run by the route /api/runs, and shows it live. A page of another origin than the service needs RUNLEDGER_CORS_ORIGINS there.
import { Runledger } from '@runledger/client';
import { useState, type ReactNode } from 'react';

interface Started {
  readonly run_id: string;
  readonly token: string;
}

export interface RunButtonProps {
  /** Of Runledger, such as https://runledger.example/api. */
  readonly url: string;
  readonly deployment: string;
}

export const RunButton = ({ url, deployment }: RunButtonProps): ReactNode => {
  const [shown, show] = useState('');
  const start = async (): Promise<void> => {
    const response = await fetch('/api/runs', { method: 'POST', body: JSON.stringify({ deployment }) });
    if (!response.ok) return show(`not queued: ${response.status}`);
    const { run_id, token } = (await response.json()) as Started;
    for await (const { data } of new Runledger({ url, apiKey: token }).subscribe(run_id))
      show(
        `${Math.round(data.progress * 100)} % ${data.live_status ?? ('status' in data ? data.status : '')}`,
      );
  };
  const onClick = (): void => {
    start().catch((error: unknown) => show(String(error)));
  };
  return (
    <>
      <button onClick={onClick}>Run</button> {shown}
    </>
  );
};
