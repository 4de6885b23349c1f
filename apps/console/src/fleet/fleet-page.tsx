import { Link } from '@tanstack/react-router';
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
      <div className="row apart">
        <h1>Fleet</h1>
        {isOperator && <Link to="/fleet/what-if">What if it were different?</Link>}
      </div>
      {isOperator && <Executors />}
      <Queues isOperator={isOperator} />
    </div>
  );
};
