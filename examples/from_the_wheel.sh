# Uses an installed dpforest as a newcomer would: CSV files on the command line. Run by
# `make wheel` in an empty folder, with no extra installed.
examples=$1
python "$examples/hospital_csv.py"
dpforest schema init visits.csv --dictionary dictionary.csv --target outcome --out schema.json
dpforest budget create budget.db --dataset patients --epsilon 3 --schema schema.json
dpforest fit visits.csv --schema schema.json --epsilon 1 --budget budget.db --out model.json
dpforest predict model.json new_visits.csv --keep bed --proba --out predictions.csv
test -s predictions.csv
