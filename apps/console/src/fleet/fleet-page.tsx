import type { ReactNode } from 'react';
import { useMay } from '../session/use-session.ts';
import { Executors } from './executors.tsx';
import { Queues } from './queues.tsx';
import './fleet.css';

/** What executes runs, and what waits for it. */
export const FleetPage = (): ReactNode => {
  const isOperator = useMay('operator');
  return (
    <div className="stack">
      <h1>Fleet</h1>
      {isOperator && <Executors />}
      <Queues isOperator={isOperator} />
    </div>
  );
};
