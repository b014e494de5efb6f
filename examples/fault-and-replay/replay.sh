set -e
npx svcnet run ./isolated.ts --driver embedded --seed 7 --report reports/first
npx svcnet replay reports/first
